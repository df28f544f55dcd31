import { Identity1763600000001 } from './1763600000001-identity.js';
import { Subscriptions1763600000002 } from './1763600000002-subscriptions.js';
import { Workspaces1763600000003 } from './1763600000003-workspaces.js';
import { Files1763600000004 } from './1763600000004-files.js';
import { RateLimits1763600000005 } from './1763600000005-rate-limits.js';
import { AccessTokens1763600000006 } from './1763600000006-access-tokens.js';
import { Checkpoints1763600000007 } from './1763600000007-checkpoints.js';

/** In the order in which they run. Hand-written; never edited once landed. */
export const migrations = [
  Identity1763600000001,
  Subscriptions1763600000002,
  Workspaces1763600000003,
  Files1763600000004,
  RateLimits1763600000005,
  AccessTokens1763600000006,
  Checkpoints1763600000007,
];
