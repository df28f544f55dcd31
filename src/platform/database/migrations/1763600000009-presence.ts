import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Which devices have a live socket, and on which instance. An instance renews its lease every few seconds; the rows of
 * one that was killed mean nothing once its lease has run out, and go with it.
 */
export class Presence1763600000009 implements MigrationInterface {
  readonly name = 'Presence1763600000009';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE instances (
        id uuid PRIMARY KEY,
        alive_until timestamptz NOT NULL
      );
      CREATE TABLE presence (
        workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
        device_id text NOT NULL CHECK (char_length(device_id) BETWEEN 1 AND 128),
        instance_id uuid NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
        PRIMARY KEY (workspace_id, device_id, instance_id)
      );
      CREATE INDEX presence_instance ON presence (instance_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE presence, instances');
  }
}
