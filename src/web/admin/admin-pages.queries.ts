import { statement } from '../../platform/database/index.js';

/** Key of the advisory lock that serializes starts of the doctor. */
const START = 7_325_190_037;

export const adminPagesStatements = {
  lockStart: statement('doctor_runs.lock', `SELECT pg_advisory_xact_lock(${START})`),

  /** Leases use the database clock. */
  instances: statement(
    'service_status.instances',
    'SELECT count(*)::integer AS instances FROM instances WHERE alive_until > statement_timestamp()',
  ),
};
