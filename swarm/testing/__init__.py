"""Fakes and waiting for tests, shipped and typed."""
