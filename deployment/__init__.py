"""How the service is packed and run elsewhere: an image, compose, Kubernetes. Nothing here is in the wheel."""
