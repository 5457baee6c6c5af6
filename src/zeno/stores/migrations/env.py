"""What Alembic runs: the migrations, on the connection that it is handed."""

from alembic import context

from zeno.stores.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
context.run_migrations()
