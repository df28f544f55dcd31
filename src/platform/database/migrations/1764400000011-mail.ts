import { Baseline } from './baseline.js';

/**
 * `mail_queue`: mails that have not been sent. A row has no text and no link, only the name of a template and its parameters.
 *
 * `mail_links`: the one-time links in mails, as hashes: the newest of each purpose for each user. A used link stays until its
 * mail can no longer be sent again, so that a repeated mail does not make it valid again.
 *
 * `mail_notices`: mails that are sent once. `muted_notices`: mails that a user has turned off, a row for each kind.
 */
export class Mail1764400000011 extends Baseline {
  readonly name = 'Mail1764400000011';
  readonly sql = `
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

    CREATE TABLE mail_links (
      user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      purpose text NOT NULL CHECK (purpose IN ('reset-password', 'verify-email', 'change-email')),
      token_hash bytea NOT NULL UNIQUE,
      email text NOT NULL,
      requested_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL,
      used_at timestamptz,
      PRIMARY KEY (user_id, purpose)
    );
    CREATE INDEX mail_links_expiry ON mail_links (expires_at);

    CREATE TABLE mail_notices (
      user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      notice text NOT NULL,
      about timestamptz NOT NULL,
      PRIMARY KEY (user_id, notice, about)
    );

    CREATE TABLE muted_notices (
      user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      notice text NOT NULL,
      muted_at timestamptz NOT NULL,
      PRIMARY KEY (user_id, notice)
    );
  `;
}
