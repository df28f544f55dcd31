import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `audit_events`: what was done to accounts, by whom and from where. It has no foreign key to users: the events of a deleted
 * account stay. `auth_sessions.confirmed_at`: when a password or another factor was last given in the session; null for
 * sessions of earlier versions.
 */
export class AuditAndRecentSignIn1763600000032 implements MigrationInterface {
  readonly name = 'AuditAndRecentSignIn1763600000032';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE audit_events (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        at timestamptz NOT NULL,
        user_id uuid NOT NULL,
        action text NOT NULL,
        actor text NOT NULL CHECK (actor IN ('user', 'operator', 'administrator', 'service')),
        actor_id uuid,
        ip text,
        user_agent text,
        details jsonb NOT NULL DEFAULT '{}'
      );
      CREATE INDEX audit_events_of_user ON audit_events (user_id, id);
      CREATE INDEX audit_events_at ON audit_events (at);

      ALTER TABLE auth_sessions ADD COLUMN confirmed_at timestamptz;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE audit_events');
    await runner.query('ALTER TABLE auth_sessions DROP COLUMN confirmed_at');
  }
}
