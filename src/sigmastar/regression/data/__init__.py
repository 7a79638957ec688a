"""Containers of data, their formats and generators."""
