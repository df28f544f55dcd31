import { Baseline } from './baseline.js';

/**
 * Registered devices, push subscriptions, and which devices are connected.
 *
 * The device of a subscription need not be registered, hence text. The pending push of a subscription is in its own row: `due_at`
 * is when it may be sent, and no push is sent before `not_before`. `owed_unsubscriptions`: on a distributed database,
 * subscriptions of deleted devices that must still be removed; empty on a single server.
 *
 * `presence`: which devices have a live socket, and on which instance. An instance renews its lease every few seconds; the rows
 * of a killed instance are void after its lease has expired, and are deleted with it.
 */
export class Devices1764400000008 extends Baseline {
  readonly name = 'Devices1764400000008';
  readonly sql = `
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

    CREATE TABLE owed_unsubscriptions (
      workspace_id uuid NOT NULL,
      device_id text NOT NULL,
      PRIMARY KEY (workspace_id, device_id)
    );

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
  `;
}
