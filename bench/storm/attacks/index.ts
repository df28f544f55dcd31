import type { Attack } from './attack.js';
import { GUESSES } from './guesses.js';
import { QUEUES } from './queues.js';
import { SILENCE } from './silence.js';
import { SOCKETS } from './sockets.js';
import { UNREAD } from './unread.js';
import { WRITES } from './writes.js';

export type { Attack, Scene } from './attack.js';

/** All attacks; each can run alone. */
export const ATTACKS: readonly Attack[] = [
  ...UNREAD,
  ...GUESSES,
  ...QUEUES,
  ...WRITES,
  ...SOCKETS,
  ...SILENCE,
];
