import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Mails that have not been sent. A row has no text and no link, only the name of a template and its parameters. Addresses that
 * nobody has confirmed stay so.
 */
export class MailQueue1763600000033 implements MigrationInterface {
  readonly name = 'MailQueue1763600000033';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE mail_queue (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        user_id uuid REFERENCES users (id) ON DELETE CASCADE,
        recipient text NOT NULL,
        template text NOT NULL,
        parameters jsonb NOT NULL,
        queued_at timestamptz NOT NULL,
        due_at timestamptz NOT NULL,
        attempts integer NOT NULL DEFAULT 0
      );
      CREATE INDEX mail_queue_due ON mail_queue (due_at);
      CREATE INDEX mail_queue_user ON mail_queue (user_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE mail_queue');
  }
}
