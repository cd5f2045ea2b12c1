"""Files, texts and attributes made to do harm, or damaged: what comes of them."""
