import type { DataSource } from 'typeorm';
import { OperatorError } from '../config/index.js';
import { baseline, REPLACED_MIGRATIONS } from './migrations/index.js';

const NAMES = baseline.map(({ name }) => name);

export const isReplaced = (migration: string): boolean => REPLACED_MIGRATIONS.includes(migration);

/**
 * Applied migrations as this version knows them: all that the baseline replaces stand for the baseline.
 * @returns undefined when only some of them are applied
 */
export function asOfBaseline(applied: readonly string[]): readonly string[] | undefined {
  const known = applied.filter((name) => !isReplaced(name));
  if (NAMES.every((name) => known.includes(name)) || known.length === applied.length) return known;
  return REPLACED_MIGRATIONS.every((name) => applied.includes(name)) ? [...NAMES, ...known] : undefined;
}

/** Functions that only versions before the baseline called. */
const OBSOLETE = ['put_file', 'put_files', 'put_document'];

/**
 * Lets a database with all migrations that the baseline replaces continue from there. Their rows stay: instances of the version
 * before, which run beside this one, check that all of theirs are applied.
 * @param applied names of migrations
 * @throws OperatorError when it has only some of them
 */
export async function adoptBaseline(dataSource: DataSource, applied: readonly string[]): Promise<void> {
  const names = asOfBaseline(applied);
  if (names === undefined)
    throw new OperatorError(
      `The version before has not finished its migrations (the last one is ${applied.findLast(isReplaced)}); ` +
        'start that version once, which finishes them, then this one.',
    );
  const missing = names.filter((name) => !applied.includes(name));
  if (missing.length === 0) return;
  await dataSource.transaction(async (tx) => {
    await tx.query(`DROP FUNCTION IF EXISTS ${OBSOLETE.join(', ')}`);
    for (const name of missing)
      await tx.query('INSERT INTO migrations (timestamp, name) VALUES ($1, $2)', [name.slice(-13), name]);
  });
}
