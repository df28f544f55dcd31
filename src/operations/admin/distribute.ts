import { parseArgs } from 'node:util';
import { configurationOfProcess, OperatorError } from '../../platform/config/index.js';
import { UPLOAD_FUNCTIONS } from '../../domain/files/index.js';
import { distributeDatabase } from '../../platform/database/index.js';
import { refusePasswordIn } from './password-in-arguments.js';

const USAGE = `Usage: npm run distribute -- [--database-url URL] [--dry-run]

Distributes the tables of the service by workspace on a database with Citus. Repeat it after every upgrade: what is done
already is skipped. Without --database-url it uses DATABASE_URL or DATABASE_URL_FILE. A URL with a password must be there:
arguments are visible to every user of the machine.`;

/** `npm run distribute`: exit codes are 0 for success, 1 for a failure and 2 for a usage error. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      'database-url': { type: 'string' },
      'dry-run': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  refusePasswordIn(
    values['database-url'] ?? '',
    '--database-url',
    'set DATABASE_URL, or DATABASE_URL_FILE to a file with it',
  );
  const url = values['database-url'] ?? configurationOfProcess().databaseUrl;
  if (!url)
    throw new OperatorError('--database-url or DATABASE_URL is needed: the address of the coordinator.');
  const isDryRun = values['dry-run'];
  const functions = [UPLOAD_FUNCTIONS];
  const count = await distributeDatabase(url, { isDryRun, functions, onStep: console.log });
  if (count === 0) console.log('Nothing to do: all tables are distributed.');
  else console.log(isDryRun ? `${count} steps would be done; nothing was changed.` : `${count} steps done.`);
}

try {
  await main();
} catch (error) {
  const isUsage = error instanceof TypeError && 'code' in error;
  if (isUsage) console.error(`${error.message}\n\n${USAGE}`);
  else console.error(error instanceof OperatorError ? error.message : error);
  process.exitCode = isUsage ? 2 : 1;
}
