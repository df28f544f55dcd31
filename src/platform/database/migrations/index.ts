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

/**
 * The migrations of development versions that the baseline replaces, in their order. A database that has all of them has the
 * tables of the baseline.
 */
export const REPLACED_MIGRATIONS: readonly string[] = [
  'Identity1763600000001',
  'Subscriptions1763600000002',
  'Workspaces1763600000003',
  'Files1763600000004',
  'RateLimits1763600000005',
  'AccessTokens1763600000006',
  'Checkpoints1763600000007',
  'Devices1763600000008',
  'Presence1763600000009',
  'Assets1763600000010',
  'Billing1763600000011',
  'BlobUpkeep1763600000012',
  'Retention1763600000013',
  'Jobs1763600000014',
  'KillSwitch1763600000016',
  'KeySessions1763600000018',
  'PlansByKey1763600000019',
  'UploadsTogether1763600000020',
  'SmallSamplesOfBlobs1763600000021',
  'QuickChecksOfWorkspaces1763600000022',
  'QuickCheckOfBlobs1763600000023',
  'ValidCheckOfBlobs1763600000024',
  'DocumentUsage1763600000025',
  'SuspensionAndTrustedTime1763600000026',
  'Caps1763600000027',
  'WrongPasswords1763600000028',
  'DeletedFiles1763600000029',
  'CountedDocuments1763600000030',
  'OneUploadFunction1763600000031',
  'AuditAndRecentSignIn1763600000032',
  'MailQueue1763600000033',
  'MailLinks1763600000034',
  'SecondFactors1763600000035',
  'SingleSignOn1763600000036',
  'Administrators1763600000037',
  'KeySlots1763600000038',
  'MutedNotices1763600000039',
  'FactorOfSession1763600000041',
  'UploadsToManyWorkspaces1763600000042',
  'UploadsOnNodes1763600000044',
  'DueVersions1763600000049',
  'DeletionsOfFiles1763600000050',
  'WorkspacesBesideNodes1763600000051',
  'OwedToNodes1763600000052',
  'EndedSessions1763600000053',
  'DatabaseIdentity1763600000054',
];
