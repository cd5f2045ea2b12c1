"""A web page of a campaign for a shared computer: `tunedprior serve`."""
