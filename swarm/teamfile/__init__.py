"""The team file: read, checked, planned, drawn. Import the modules; this package imports none of them."""
