"""Jobs: one row of procrastinate's for each session in which there is something to be done. PostgreSQL only.

A job is written by the transaction that writes the command it is for, so there is never one without the other. It says where to
look, never what to do: the log and the inbox say that.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, make_url, text
from sqlalchemy.exc import ArgumentError

from zeno.core.errors import ConfigError
from zeno.stores.database import Database, reading, wait_for_turn, writing

QUEUE = "zeno"
TASK = "drive_session"

INSTALL_LOCK = 0x7A656E6F6A6F62
"""The number of the advisory lock for procrastinate's schema: "zenojob"."""

SWEEP_LOCK = 0x7A656E6F7377
"""The number of the advisory lock of the sweep: "zenosw"."""

OWN_STEP = "zeno 1"
"""The name of our addition to procrastinate's schema, among those of its own migrations."""

# To touch the job that waits already holds it until the command is there to be seen. One that was fetched meanwhile may have
# looked too early, and then this is a new row. A plain "do nothing" loses that race.
_PUT = """
insert into procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args)
select :queue, :task, due.session_id, due.session_id, jsonb_build_object('session_id', due.session_id)
from ({due}) as due
on conflict (queueing_lock) where status = 'todo' do update set queueing_lock = excluded.queueing_lock
"""
_OF_RUN = text(_PUT.format(due="select session_id::text from runs where id = :run"))
_OF_SESSIONS = text(_PUT.format(due="select distinct unnest(cast(:sessions as text[])) as session_id order by 1"))

# A run in which there is something to be done now: none of its session comes first.
_DUE = """
run.ended_at is null and run.created_at < :older_than
and (run.ending is null or exists (select 1 from inbox where inbox.run_id = run.id and not inbox.absorbed))
and not exists (
    select 1 from runs as ahead
    where ahead.session_id = run.session_id and ahead.ended_at is null
    and (ahead.created_at, ahead.id) < (run.created_at, run.id)
)
"""

_STALLED = text("""
delete from procrastinate_jobs as job
where job.queue_name = :queue and job.status = 'doing' and not exists (
    select 1 from procrastinate_workers as worker
    where worker.id = job.worker_id and worker.last_heartbeat >= now() - make_interval(secs => :limit)
)
returning job.lock
""")

# A worker that lives can still have lost a job: the database went away as it was to say that it was done with it, and the
# session stays locked. One that is only slow loses nothing by this: whoever takes the session over meets its lease.
_UNFINISHED = """
delete from procrastinate_jobs as job
where job.queue_name = :queue and job.status = 'doing' and not exists (
    select 1 from procrastinate_events as event
    where event.job_id = job.id and event.type = 'started' and event.at > now() - make_interval(secs => :limit)
) and exists (
    select 1 from runs as run
    where run.session_id = job.lock and {due}
) and not exists (
    select 1 from runs as held
    where held.session_id = job.lock and held.ended_at is null
    and held.lease_owner is not null and held.lease_until >= :now
)
returning job.lock
"""

_FORGOTTEN = """
select distinct run.session_id from runs as run
where {due}
and not exists (
    select 1 from runs as held
    where held.session_id = run.session_id and held.ended_at is null
    and held.lease_owner is not null and held.lease_until >= :now
)
and not exists (select 1 from procrastinate_jobs as job where job.lock = run.session_id and job.status in ('todo', 'doing'))
"""

_OF_UNFINISHED, _OF_FORGOTTEN = text(_UNFINISHED.format(due=_DUE)), text(_FORGOTTEN.format(due=_DUE))

# procrastinate rings for rows that are new. A job that becomes free by another way would wait for somebody to look.
_BELL = """
create or replace function zeno_ring_for_free_job() returns trigger language plpgsql as $$
begin
    if exists (select 1 from procrastinate_jobs where lock = old.lock and status = 'todo') then
        perform pg_notify(
            'procrastinate_queue_v1#' || old.queue_name,
            json_build_object('type', 'job_inserted', 'job_id', old.id)::text
        );
    end if;
    return null;
end;
$$;
create trigger zeno_ring_for_free_job after update or delete on procrastinate_jobs
for each row execute function zeno_ring_for_free_job();
"""


def libpq_url(url: str | None) -> str | None:
    """The URL of a PostgreSQL database as its own library reads it; `None` for any other, which has no jobs.

    Raises `ConfigError` for what is no URL.
    """
    if not url or not url.startswith(("postgresql:", "postgresql+")):
        return None
    try:
        return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    except ArgumentError:
        raise ConfigError("database_url_invalid") from None


def put_job(connection: Connection, run_id: str) -> None:
    """Have somebody look into the run's session, within a transaction of the caller's; once, however often it is said.

    Does nothing where nobody waits for jobs (`Database.announce_jobs`).
    """
    if connection.get_execution_options().get("zeno_jobs"):
        connection.execute(_OF_RUN, {"queue": QUEUE, "task": TASK, "run": run_id})


@dataclass(frozen=True, kw_only=True)
class Jobs:
    """The jobs of all sessions."""

    database: Database

    async def install(self) -> None:
        """Bring procrastinate's schema to the installed version's, and write jobs from now on."""
        if await self._missing():
            await self._install()
        self.database.announce_jobs()

    @writing
    def put(self, connection: Connection, session_ids: Iterable[str]) -> None:
        """Have somebody look into these sessions."""
        _put(connection, session_ids)

    @writing
    def sweep(self, connection: Connection, *, stalled_after: float, older_than: int, now: int) -> int:
        """Put anew what a dead worker had or a living one lost, and what is due and has no job: of how many sessions.

        One sweeps at a time. `stalled_after` is in seconds without a sign of life; runs made after `older_than` (milliseconds,
        as `now`) are left alone.
        """
        if not connection.scalar(text("select pg_try_advisory_xact_lock(:key)"), {"key": SWEEP_LOCK}):
            return 0
        found = set(connection.scalars(_STALLED, {"queue": QUEUE, "limit": stalled_after}))
        due = {"older_than": older_than, "now": now}
        found |= set(connection.scalars(_OF_UNFINISHED, {"queue": QUEUE, "limit": stalled_after} | due))
        found |= set(connection.scalars(_OF_FORGOTTEN, due))
        if found:
            _put(connection, found)
        return len(found)

    @reading
    def _missing(self, connection: Connection) -> bool:
        return not set(_steps()) <= _done(connection)

    @writing
    def _install(self, connection: Connection) -> None:
        """Of several processes that begin at once, one does it and the others wait."""
        wait_for_turn(connection, INSTALL_LOCK)
        connection.execute(text("create table if not exists zeno_job_schema (name varchar(200) primary key)"))
        steps, done = _steps(), _done(connection)
        if not done and connection.scalar(text("select to_regclass('procrastinate_jobs')")) is None:
            from procrastinate.schema import SchemaManager

            _run(connection, SchemaManager.get_schema())
            done = steps.keys() - {OWN_STEP}
        elif not done:
            # Somebody else's, who keeps it up to date by procrastinate's own means.
            done = steps.keys() - {OWN_STEP}
        for name in sorted(steps.keys() - done):
            _run(connection, steps[name].read_text("utf-8") if name != OWN_STEP else _BELL)
        adding = text("insert into zeno_job_schema (name) values (:name) on conflict do nothing")
        connection.execute(adding, [{"name": name} for name in steps])


def _put(connection: Connection, session_ids: Iterable[str]) -> None:
    connection.execute(_OF_SESSIONS, {"queue": QUEUE, "task": TASK, "sessions": sorted(session_ids)})


def _steps() -> dict[str, Path]:
    """The migrations that the installed procrastinate brings, and ours, which comes last."""
    from procrastinate.schema import SchemaManager

    return {path.name: path for path in sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"))} | {OWN_STEP: Path()}


def _done(connection: Connection) -> set[str]:
    if connection.scalar(text("select to_regclass('zeno_job_schema')")) is None:
        return set()
    return set(connection.scalars(text("select name from zeno_job_schema")))


def _run(connection: Connection, statements: str) -> None:
    """Run several statements at once; what looks like a parameter in them is none."""
    connection.connection.cursor().execute(statements)
