"""Addresses, links and routes that connect an instance with its host and with other machines."""
