import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `ended_sessions`: sessions that have ended, whose JWTs have not expired yet. A trigger fills it, so that no way to end a session
 * can forget to; a session that gets another id has ended under its old one. Sessions of deleted users are left out: requests look for
 * the user anyway, and answer so. `transaction` lets a reader that has seen everything
 * up to a snapshot find the rows that were committed since, whatever the order of their commits. `key_sessions.session_id`: the
 * session of the JWT that has opened a key session, which ends with it. Pictures of users that are no https address are removed.
 */
export class EndedSessions1763600000053 implements MigrationInterface {
  readonly name = 'EndedSessions1763600000053';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE ended_sessions (
        session_id uuid PRIMARY KEY,
        ended_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        transaction xid8 NOT NULL DEFAULT pg_current_xact_id()
      );
      CREATE INDEX ended_sessions_transaction ON ended_sessions (transaction);
      CREATE INDEX ended_sessions_ended_at ON ended_sessions (ended_at);

      CREATE FUNCTION note_ended_session() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO ended_sessions (session_id)
        SELECT OLD.id WHERE EXISTS (SELECT FROM users WHERE id = OLD.user_id) ON CONFLICT DO NOTHING;
        RETURN NULL;
      END $$;
      CREATE TRIGGER note_ended_session AFTER DELETE OR UPDATE OF id ON auth_sessions
        FOR EACH ROW EXECUTE FUNCTION note_ended_session();

      ALTER TABLE key_sessions ADD COLUMN session_id uuid;

      UPDATE users SET image = NULL WHERE image !~ '^https://' OR length(image) > 2048;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE key_sessions DROP COLUMN session_id');
    await runner.query('DROP TRIGGER note_ended_session ON auth_sessions');
    await runner.query('DROP FUNCTION note_ended_session');
    await runner.query('DROP TABLE ended_sessions');
  }
}
