import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Registered devices, and where the devices of a workspace are pushed to. A subscription's device need not be
 * registered, hence text. What a subscription waits for stands in its own row: `due_at` is when it may be sent, and
 * no push leaves before `not_before`.
 */
export class Devices1763600000008 implements MigrationInterface {
  readonly name = 'Devices1763600000008';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE devices (
        id uuid PRIMARY KEY,
        user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
        name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
        platform text NOT NULL CHECK (char_length(platform) BETWEEN 1 AND 50),
        created_at timestamptz NOT NULL,
        last_seen_at timestamptz
      );
      CREATE INDEX devices_user_id ON devices (user_id, id);

      CREATE TABLE push_subscriptions (
        workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
        device_id text NOT NULL CHECK (char_length(device_id) BETWEEN 1 AND 128),
        endpoint text NOT NULL CHECK (char_length(endpoint) <= 2048),
        p256dh text NOT NULL CHECK (char_length(p256dh) = 87),
        auth text NOT NULL CHECK (char_length(auth) = 22),
        updated_at timestamptz NOT NULL,
        pending_changes boolean NOT NULL DEFAULT false,
        pending_assets boolean NOT NULL DEFAULT false,
        due_at timestamptz,
        not_before timestamptz,
        failures integer NOT NULL DEFAULT 0 CHECK (failures >= 0),
        PRIMARY KEY (workspace_id, device_id),
        CHECK ((pending_changes OR pending_assets) = (due_at IS NOT NULL))
      ) WITH (fillfactor = 80);
      CREATE INDEX push_subscriptions_due ON push_subscriptions (due_at) WHERE due_at IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE push_subscriptions, devices');
  }
}
