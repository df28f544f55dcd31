import { Identity1763600000001 } from './1763600000001-identity.js';
import { Subscriptions1763600000002 } from './1763600000002-subscriptions.js';
import { Workspaces1763600000003 } from './1763600000003-workspaces.js';
import { Files1763600000004 } from './1763600000004-files.js';
import { RateLimits1763600000005 } from './1763600000005-rate-limits.js';
import { AccessTokens1763600000006 } from './1763600000006-access-tokens.js';
import { Checkpoints1763600000007 } from './1763600000007-checkpoints.js';
import { Devices1763600000008 } from './1763600000008-devices.js';
import { Presence1763600000009 } from './1763600000009-presence.js';
import { Assets1763600000010 } from './1763600000010-assets.js';
import { Billing1763600000011 } from './1763600000011-billing.js';
import { BlobUpkeep1763600000012 } from './1763600000012-blob-upkeep.js';
import { Retention1763600000013 } from './1763600000013-retention.js';
import { Jobs1763600000014 } from './1763600000014-jobs.js';
import { KillSwitch1763600000016 } from './1763600000016-kill-switch.js';
import { KeySessions1763600000018 } from './1763600000018-key-sessions.js';
import { PlansByKey1763600000019 } from './1763600000019-plans-by-key.js';
import { UploadsTogether1763600000020 } from './1763600000020-uploads-together.js';
import { SmallSamplesOfBlobs1763600000021 } from './1763600000021-small-samples-of-blobs.js';
import { QuickChecksOfWorkspaces1763600000022 } from './1763600000022-quick-checks-of-workspaces.js';
import { QuickCheckOfBlobs1763600000023 } from './1763600000023-quick-check-of-blobs.js';
import { ValidCheckOfBlobs1763600000024 } from './1763600000024-valid-check-of-blobs.js';
import { DocumentUsage1763600000025 } from './1763600000025-document-usage.js';
import { SuspensionAndTrustedTime1763600000026 } from './1763600000026-suspension-and-trusted-time.js';
import { Caps1763600000027 } from './1763600000027-caps.js';
import { WrongPasswords1763600000028 } from './1763600000028-wrong-passwords.js';
import { DeletedFiles1763600000029 } from './1763600000029-deleted-files.js';
import { CountedDocuments1763600000030 } from './1763600000030-counted-documents.js';
import { OneUploadFunction1763600000031 } from './1763600000031-one-upload-function.js';
import { AuditAndRecentSignIn1763600000032 } from './1763600000032-audit-and-recent-sign-in.js';
import { MailQueue1763600000033 } from './1763600000033-mail-queue.js';
import { MailLinks1763600000034 } from './1763600000034-mail-links.js';
import { SecondFactors1763600000035 } from './1763600000035-second-factors.js';
import { SingleSignOn1763600000036 } from './1763600000036-single-sign-on.js';
import { Administrators1763600000037 } from './1763600000037-administrators.js';
import { KeySlots1763600000038 } from './1763600000038-key-slots.js';
import { MutedNotices1763600000039 } from './1763600000039-muted-notices.js';
import { FactorOfSession1763600000041 } from './1763600000041-factor-of-session.js';
import { UploadsToManyWorkspaces1763600000042 } from './1763600000042-uploads-to-many-workspaces.js';
import { UploadsOnNodes1763600000044 } from './1763600000044-uploads-on-nodes.js';
import { DueVersions1763600000049 } from './1763600000049-due-versions.js';
import { DeletionsOfFiles1763600000050 } from './1763600000050-deletions-of-files.js';
import { WorkspacesBesideNodes1763600000051 } from './1763600000051-workspaces-beside-nodes.js';
import { OwedToNodes1763600000052 } from './1763600000052-owed-to-nodes.js';
import { EndedSessions1763600000053 } from './1763600000053-ended-sessions.js';
import { DatabaseIdentity1763600000054 } from './1763600000054-database-identity.js';

/** In the order in which they run. Hand-written; never edited once released. */
export const migrations = [
  Identity1763600000001,
  Subscriptions1763600000002,
  Workspaces1763600000003,
  Files1763600000004,
  RateLimits1763600000005,
  AccessTokens1763600000006,
  Checkpoints1763600000007,
  Devices1763600000008,
  Presence1763600000009,
  Assets1763600000010,
  Billing1763600000011,
  BlobUpkeep1763600000012,
  Retention1763600000013,
  Jobs1763600000014,
  KillSwitch1763600000016,
  KeySessions1763600000018,
  PlansByKey1763600000019,
  UploadsTogether1763600000020,
  SmallSamplesOfBlobs1763600000021,
  QuickChecksOfWorkspaces1763600000022,
  QuickCheckOfBlobs1763600000023,
  ValidCheckOfBlobs1763600000024,
  DocumentUsage1763600000025,
  SuspensionAndTrustedTime1763600000026,
  Caps1763600000027,
  WrongPasswords1763600000028,
  DeletedFiles1763600000029,
  CountedDocuments1763600000030,
  OneUploadFunction1763600000031,
  AuditAndRecentSignIn1763600000032,
  MailQueue1763600000033,
  MailLinks1763600000034,
  SecondFactors1763600000035,
  SingleSignOn1763600000036,
  Administrators1763600000037,
  KeySlots1763600000038,
  MutedNotices1763600000039,
  FactorOfSession1763600000041,
  UploadsToManyWorkspaces1763600000042,
  UploadsOnNodes1763600000044,
  DueVersions1763600000049,
  DeletionsOfFiles1763600000050,
  WorkspacesBesideNodes1763600000051,
  OwedToNodes1763600000052,
  EndedSessions1763600000053,
  DatabaseIdentity1763600000054,
];
