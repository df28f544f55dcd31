import { Baseline } from './baseline.js';

/**
 * `audit_events`: actions on accounts and on the service, with their actor and origin; `user_id` is null for the service. It has
 * no foreign key to users: the events of a deleted account stay.
 *
 * `job_runs`: runs of the nightly jobs; a run without an end is in progress, or its process has died. `doctor_runs`: the last
 * checks that administrators have started.
 *
 * `trusted_time`, at most one row: the last time at which the deployment is known to have run, and since when a clock that is far
 * ahead of it has been doubted. `kill_switch`, at most one row: the mode that the operator has set last.
 *
 * `rate_limits`: counters of the current minute. It is unlogged: losing them in a crash is harmless.
 *
 * `database_identity`: the id by which a backup location recognises its database; at most one row, which the first backup
 * inserts. A restored database has no id yet, because backups exclude the table.
 *
 * `shared_commits` is for distributed databases, and is always empty. It is registered with the engine: a transaction that
 * deletes from it, even without a matching row, is committed on a node and on the coordinator together.
 */
export class Operation1764400000012 extends Baseline {
  readonly name = 'Operation1764400000012';
  readonly sql = `
    CREATE TABLE audit_events (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      at timestamptz NOT NULL,
      user_id uuid,
      action text NOT NULL,
      actor text NOT NULL CHECK (actor IN ('user', 'operator', 'administrator', 'service')),
      actor_id uuid,
      ip text,
      user_agent text,
      details jsonb NOT NULL DEFAULT '{}'
    );
    CREATE INDEX audit_events_of_user ON audit_events (user_id, id);
    CREATE INDEX audit_events_at ON audit_events (at);

    CREATE TABLE job_runs (
      id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
      name text NOT NULL,
      started_at timestamptz NOT NULL,
      ended_at timestamptz,
      counts json NOT NULL DEFAULT '{}',
      error text
    );
    CREATE INDEX job_runs_of_name ON job_runs (name, id);

    CREATE TABLE doctor_runs (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      started_at timestamptz NOT NULL,
      ended_at timestamptz,
      found integer,
      findings jsonb NOT NULL DEFAULT '[]',
      error text
    );

    CREATE TABLE trusted_time (
      id boolean PRIMARY KEY DEFAULT true CHECK (id),
      trusted_until timestamptz NOT NULL,
      doubted_from timestamptz,
      doubted_until timestamptz
    );

    CREATE TABLE kill_switch (
      id boolean PRIMARY KEY DEFAULT true CHECK (id),
      mode text NOT NULL CHECK (mode IN ('off', 'read-only', 'down')),
      set_at timestamptz NOT NULL
    );

    CREATE UNLOGGED TABLE rate_limits (
      key text PRIMARY KEY,
      window_start timestamptz NOT NULL,
      hits integer NOT NULL
    );

    CREATE TABLE database_identity (
      is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
      id uuid NOT NULL
    );

    CREATE TABLE shared_commits (id integer PRIMARY KEY);
  `;
}
