import type { MigrationInterface } from 'typeorm';
import { Auth1764400000001 } from './1764400000001-auth.js';
import { Billing1764400000002 } from './1764400000002-billing.js';
import { Workspaces1764400000003 } from './1764400000003-workspaces.js';
import { Storage1764400000004 } from './1764400000004-storage.js';
import { Files1764400000005 } from './1764400000005-files.js';
import { Checkpoints1764400000006 } from './1764400000006-checkpoints.js';
import { AccessTokens1764400000007 } from './1764400000007-access-tokens.js';
import { Devices1764400000008 } from './1764400000008-devices.js';
import { Assets1764400000009 } from './1764400000009-assets.js';
import { Retention1764400000010 } from './1764400000010-retention.js';
import { Mail1764400000011 } from './1764400000011-mail.js';
import { Operation1764400000012 } from './1764400000012-operation.js';
import { LeanColumns1764500000001 } from './1764500000001-lean-columns.js';
import { LeanReads1764500000002 } from './1764500000002-lean-reads.js';
import { NodesWithoutCopies1764500000003 } from './1764500000003-nodes-without-copies.js';

export { REPLACED_MIGRATIONS } from './replaced.js';

/** The schema of the first release, in areas. */
export const baseline = [
  Auth1764400000001,
  Billing1764400000002,
  Workspaces1764400000003,
  Storage1764400000004,
  Files1764400000005,
  Checkpoints1764400000006,
  AccessTokens1764400000007,
  Devices1764400000008,
  Assets1764400000009,
  Retention1764400000010,
  Mail1764400000011,
  Operation1764400000012,
];

/** All migrations, in the order in which they run. Handwritten; never edited once released. */
export const migrations: (new () => MigrationInterface)[] = [
  ...baseline,
  LeanColumns1764500000001,
  LeanReads1764500000002,
  NodesWithoutCopies1764500000003,
];
