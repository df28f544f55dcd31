import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A person at an OpenID Connect provider is linked to one account at most. Passwords are left out: nothing has kept the version
 * before from writing two rows for one user.
 */
export class SingleSignOn1763600000036 implements MigrationInterface {
  readonly name = 'SingleSignOn1763600000036';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE UNIQUE INDEX auth_accounts_linked ON auth_accounts (provider_id, account_id) WHERE provider_id <> 'credential'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX auth_accounts_linked');
  }
}
