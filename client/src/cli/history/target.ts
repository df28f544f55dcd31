import { stat } from 'node:fs/promises';
import type { PastFile, VaultHistory } from '../../core/index.js';
import { UsageError } from '../errors.js';
import { findCheckpoint } from './checkpoints.js';
import { formatMoment, parseMoment } from './moments.js';

export interface RestoreOptions {
  readonly version?: string;
  readonly at?: string;
  readonly checkpoint?: string;
}

/** The files to restore, and the version of each. */
export interface Target {
  /** Identifies an interrupted restore; equal for equal command lines. */
  readonly key: string;
  /** For users: `version 3 of plan.md`. */
  readonly what: string;
  readonly files: readonly PastFile[];
  /** Number of files whose names cannot be decrypted. */
  readonly unreadable: number;
}

/** @param scope a path in the vault; empty for the whole folder @param place its present or former path on disk */
export async function targetOf(
  history: VaultHistory,
  scope: string,
  place: string,
  { version, at, checkpoint }: RestoreOptions,
): Promise<Target> {
  if ([version, at, checkpoint].filter((option) => option !== undefined).length > 1)
    throw new UsageError('--version, --at and --checkpoint exclude each other');
  if (checkpoint !== undefined) return checkpointTarget(history, scope, checkpoint);
  if (version !== undefined) return versionTarget(history, scope, version);
  if (at === undefined) return deletedTarget(history, scope, place);
  const moment = parseMoment(at);
  const isDirectory = scope === '' || (await isDirectoryAt(place));
  return (isDirectory ? undefined : await fileAt(history, scope, moment)) ?? wholeAt(history, scope, moment);
}

async function checkpointTarget(history: VaultHistory, scope: string, named: string): Promise<Target> {
  const { id, label, createdAt } = await findCheckpoint(history, named);
  const what = `${nameOf(scope)} at the checkpoint ${label ?? id} of ${formatMoment(createdAt)}`;
  const state = await history.stateAtCheckpoint(id);
  return { key: `checkpoint ${id} ${scope}`, what, ...state, files: within(state.files, scope) };
}

async function versionTarget(history: VaultHistory, path: string, named: string): Promise<Target> {
  if (path === '') throw new UsageError('--version is for one file: name it');
  const versions = await history.versions(path);
  const found = versions.find(({ id, version }) => id === named.toLowerCase() || String(version) === named);
  if (!found) throw new UsageError(`${path} has no version ${named}: see \`cloud-sync log\``);
  return fileTarget(history, path, found);
}

/** Without options, a deleted file is restored; for an existing file, the user has to name a version. */
async function deletedTarget(history: VaultHistory, path: string, place: string): Promise<Target> {
  if (path === '') throw new UsageError('say what to restore: a file, or --checkpoint, or --at');
  if (await stat(place).catch(() => undefined))
    throw new UsageError(`${path} is there: say which version by --version or --at; see \`cloud-sync log\``);
  const [newest] = await history.versions(path);
  if (!newest) throw new UsageError(`the server has no version of ${path}: see \`cloud-sync trash\``);
  return fileTarget(history, path, newest);
}

/** @returns undefined for a path that was never a file */
async function fileAt(history: VaultHistory, path: string, moment: Date): Promise<Target | undefined> {
  const versions = await history.versions(path);
  if (versions.length === 0) return undefined;
  const found = versions.find(({ savedAt }) => savedAt <= moment);
  if (found) return fileTarget(history, path, found);
  throw new UsageError(`no version of ${path} is so old: see \`cloud-sync log\``);
}

async function wholeAt(history: VaultHistory, scope: string, moment: Date): Promise<Target> {
  const state = await history.stateAt(moment);
  return {
    key: `moment ${moment.toISOString()} ${scope}`,
    what: `${nameOf(scope)} at ${formatMoment(moment)}`,
    ...state,
    files: within(state.files, scope),
  };
}

function fileTarget(
  history: VaultHistory,
  path: string,
  { id, version, savedAt }: { readonly id: string; readonly version: number; readonly savedAt: Date },
): Target {
  const what = `version ${version} of ${path}, of ${formatMoment(savedAt)}`;
  return { key: `version ${id} ${path}`, what, files: [history.pastFile(path, id)], unreadable: 0 };
}

const nameOf = (scope: string): string => (scope === '' ? 'the folder' : scope);

const within = (files: readonly PastFile[], scope: string): PastFile[] =>
  files.filter(({ path }) => scope === '' || path === scope || path.startsWith(`${scope}/`));

const isDirectoryAt = (place: string): Promise<boolean> =>
  stat(place).then(
    (found) => found.isDirectory(),
    () => false,
  );
