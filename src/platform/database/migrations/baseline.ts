import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Creates the tables of one area as the first release has them. */
export abstract class Baseline implements MigrationInterface {
  abstract readonly name: string;
  abstract readonly sql: string;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(this.sql);
  }

  /** Never called: no schema precedes the baseline. */
  down(): Promise<void> {
    return Promise.reject(new Error(`${this.name} cannot be undone`));
  }
}
