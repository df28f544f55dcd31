import type { MigrationInterface, QueryRunner } from 'typeorm';

/** One row per user who ever had more than the free plan; no row means `free`. */
export class Subscriptions1763600000002 implements MigrationInterface {
  readonly name = 'Subscriptions1763600000002';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE subscriptions (
        user_id uuid PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
        plan text NOT NULL,
        status text NOT NULL CHECK (status IN ('free', 'trial', 'active', 'past_due', 'cancelled', 'expired')),
        trial_start timestamptz,
        trial_end timestamptz CHECK (trial_end > trial_start),
        current_period_end timestamptz,
        cancel_at_period_end boolean NOT NULL DEFAULT false,
        past_due_since timestamptz,
        updated_at timestamptz NOT NULL,
        CHECK (status <> 'trial' OR trial_end IS NOT NULL),
        CHECK (status <> 'past_due' OR past_due_since IS NOT NULL)
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE subscriptions');
  }
}
