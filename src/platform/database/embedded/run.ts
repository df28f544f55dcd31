import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { diskFull, OperatorError } from '../../config/index.js';
import { ask, createDatabase } from './connection-target.js';
import { type DataDirectory, type FileLock, tryLockFile } from './data-directory.js';
import {
  CLEAN_END_WITHIN_MS,
  Postmaster,
  quitLeftBehind,
  removeDeadSignature,
  runningServerPid,
  type ServerExit,
  stopLeftBehind,
} from './previous-run.js';
import type { Server } from './server.js';
import type { Log } from './socket-directory.js';

/** How long processes of an earlier server may take to leave the cluster, including an immediate shutdown. */
const LEAVE_WITHIN_MS = 25_000;
/** How long a start is retried while the server finds its cluster in use. */
const HELD_WITHIN_MS = 20_000;
const LONGEST_PAUSE_MS = 1_000;
const ASK_EVERY_MS = 20;
const QUICK_END_WITHIN_MS = 10_000;

/**
 * Starts the server and waits until it accepts connections, however long crash recovery takes. Waits for processes of an
 * earlier server, or stops them if they are ours and have no guard.
 * @throws OperatorError when the server does not start; the abort's reason when `signal` ends the wait
 */
export async function startRun(server: Server, signal: AbortSignal): Promise<Postmaster> {
  let refusedAt: number | undefined;
  for (let pause = 50; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    const postmaster = await startPostmaster(server, refusedAt !== undefined, signal);
    const exit = await untilReady(server, postmaster, signal);
    if (exit === undefined) return postmaster;

    refusedAt ??= performance.now();
    if (!exit.isRefused || performance.now() - refusedAt > HELD_WITHIN_MS)
      throw await doesNotStart(server, exit);
    await delay(pause, undefined, { signal });
  }
}

const REMOVED = {
  ours: 'removed the lock files of a dead PostgreSQL',
  copied:
    'removed the lock files of a PostgreSQL with another data directory, of which this one is a copy; starting as after ' +
    'a crash. A copy made file by file while the service was running may be damaged: use `admin backup create`',
};

async function startPostmaster(server: Server, isRefused: boolean, signal: AbortSignal): Promise<Postmaster> {
  const { data, manner, command, socketDirectory, log } = server;
  const lock = await lockCluster(server, signal);
  try {
    const removed = isRefused && lock !== undefined && (await removeDeadSignature(data, socketDirectory));
    if (removed) log({ level: 'warn', message: REMOVED[removed] });
    return await Postmaster.start(manner, command, lock?.fd, log);
  } finally {
    await lock?.release(); // the server has its own copy: the lock lasts while any of its processes lives
  }
}

/**
 * Waits until no process of an earlier server uses the cluster. A server that was left behind is asked to shut down; if its
 * shutdown takes too long, regardless of who requested it, it is stopped immediately.
 * @returns the lock, or undefined where files cannot be locked; PostgreSQL's own interlock must suffice there
 */
async function lockCluster(server: Server, signal: AbortSignal): Promise<FileLock | undefined> {
  const { data, target, log } = server;
  const since = performance.now();
  let isTold = false;
  let isToldToQuit = false;
  for (;;) {
    const lock = await tryLockFile(join(data.path, 'postgres.lock'));
    if (lock === 'unsupported' && (await ask(target)) === 'absent') return undefined;
    if (typeof lock === 'object') return lock;

    const waited = performance.now() - since;
    if (waited > LEAVE_WITHIN_MS) throw await serverStillRunning(data);
    if (!isTold) {
      isTold = await stopLeftBehind(data, target);
      if (isTold) log({ level: 'warn', message: 'stopping a PostgreSQL that an earlier run left behind' });
    }
    if (!isToldToQuit && waited > CLEAN_END_WITHIN_MS) {
      isToldToQuit = await quitLeftBehind(data);
      if (isToldToQuit)
        log({ level: 'warn', message: 'immediately stopping a PostgreSQL that does not shut down' });
    }
    await delay(50, undefined, { signal });
  }
}

/** @returns undefined when the server accepts connections, otherwise how it exited */
async function untilReady(
  { target, log }: Server,
  postmaster: Postmaster,
  signal: AbortSignal,
): Promise<ServerExit | undefined> {
  const ended: ServerExit[] = [];
  void postmaster.exit.then((exit) => ended.push(exit));
  try {
    while (ended.length === 0) {
      signal.throwIfAborted();
      const answer = await ask(target);
      if (answer === 'ready') return undefined;
      if (answer === 'empty') await createDatabase(target);
      else await delay(ASK_EVERY_MS, undefined, { signal });
    }
    return ended[0];
  } catch (error) {
    await endRun(postmaster, log);
    throw error;
  }
}

/** Shuts the server down cleanly or, if that takes too long, immediately: acknowledged writes are kept either way. */
export async function endRun(postmaster: Postmaster, log: Log): Promise<void> {
  postmaster.signal('INT');
  if (await endsWithin(postmaster, CLEAN_END_WITHIN_MS)) return;
  log({ level: 'warn', message: 'PostgreSQL takes too long to shut down; stopping it immediately' });
  postmaster.signal('QUIT');
  if (await endsWithin(postmaster, QUICK_END_WITHIN_MS)) return;
  log({ level: 'error', message: 'PostgreSQL does not stop; the next start will deal with it' });
}

async function endsWithin(postmaster: Postmaster, milliseconds: number): Promise<boolean> {
  const timer = new AbortController();
  const timeout = delay(milliseconds, false, { signal: timer.signal }).catch(() => false);
  const isEnded = await Promise.race([postmaster.exit.then(() => true), timeout]);
  timer.abort();
  return isEnded;
}

/** Danger: name a process id only if it is proven to use this directory; the operator may stop another database. */
async function serverStillRunning(data: DataDirectory): Promise<OperatorError> {
  const pid = await runningServerPid(data);
  const who =
    pid === undefined ? 'perhaps in another container or as another user' : `with the process id ${pid}`;
  const cure = pid === undefined ? 'stop it' : `send it SIGQUIT (kill -QUIT ${pid}, never -9)`;
  return new OperatorError(
    `Another PostgreSQL still holds the database in ${data.shown}, ${who}; ${cure}, and start again.`,
  );
}

/** PostgreSQL refuses to start because of its own lock file, and nothing can prove that the file is stale. */
async function isMarkedAsHeld(data: DataDirectory): Promise<OperatorError> {
  if ((await runningServerPid(data)) !== undefined) return serverStillRunning(data);
  return new OperatorError(
    `The database in ${data.shown} is marked as in use, and it is impossible to tell whether it is; make sure that no PostgreSQL uses it, remove ${data.shown}/postgres/postmaster.pid, and start again.`,
  );
}

async function doesNotStart(
  { data }: Server,
  { isRefused, lastFault, status }: ServerExit,
): Promise<OperatorError> {
  if (isRefused) return isMarkedAsHeld(data);
  if (lastFault.includes('No space left on device')) return diskFull(data.shown);
  const reason = lastFault || `exit status ${status ?? 'unknown'}`;
  return new OperatorError(
    `The database in ${data.shown} does not start (${reason}); fix that, or set DATABASE_URL to a PostgreSQL of your own.`,
  );
}
