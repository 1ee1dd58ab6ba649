"""The page of a study for the laboratory: forms in a browser over one study, no script, no mathematics."""

from paraboloid.web.application import application
from paraboloid.web.guarding import Guard, new_token
from paraboloid.web.serving import address_of, listen, serve

__all__ = ["Guard", "address_of", "application", "listen", "new_token", "serve"]
