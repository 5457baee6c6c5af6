"""HTTP: requests become calls of the house, what happened becomes replies. It knows no table, no model and no tool."""
