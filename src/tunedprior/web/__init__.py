"""A campaign as a small web page for a lab's shared computer: `tunedprior serve`."""
