import { createHash } from 'node:crypto';
import { readdir, realpath, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { replacePrivate } from '../folder/index.js';
import { SecretNeeded, UsageError } from './errors.js';
import { readText } from './text-file.js';
import { parseSettings, type Settings, settingsText } from './settings.js';

const CONFIG = 'config.json';
const MASTER_KEY_BYTES = 32;

/** A token that signs in to a service. */
export type Credentials = { readonly sessionToken: string } | { readonly accessToken: string };

/** The stored token, with the address of the service that accepts it. */
export type KeptCredentials = Credentials & { readonly service: string };

/**
 * A folder that is set up, and the location of its state. The state is outside the folder, because everything in the folder
 * is synced, copied and restored from backups; neither keys nor the journal may be.
 */
export class SyncedFolder {
  private constructor(
    /** Absolute, without symbolic links. */
    readonly root: string,
    readonly state: string,
    readonly settings: Settings,
  ) {}

  /** @returns undefined when the folder is not set up @throws UsageError for unreadable settings */
  static async find(root: string, home: string): Promise<SyncedFolder | undefined> {
    const state = stateOf(root, home);
    const text = await readText(join(state, CONFIG));
    if (text === undefined) return undefined;
    const settings = parseSettings(text, join(state, CONFIG));
    if (settings.folder === root) return new SyncedFolder(root, state, settings);
    throw new UsageError(
      `${state} is a copy of the state of ${settings.folder}: remove it, and set ${root} up`,
    );
  }

  /** Writes the settings, which marks the folder as set up. */
  static async save(settings: Settings, home: string): Promise<SyncedFolder> {
    const state = stateOf(settings.folder, home);
    await replacePrivate(join(state, CONFIG), settingsText(settings));
    return new SyncedFolder(settings.folder, state, settings);
  }

  /** The lock of a folder, which may not be set up yet. */
  static placeOf(root: string, home: string): { readonly lock: string } {
    return { lock: join(stateOf(root, home), 'lock') };
  }

  /** The folder that is at or contains a path. */
  static async above(place: string, home: string): Promise<SyncedFolder | undefined> {
    for (let root = place; ; root = dirname(root)) {
      const found = await SyncedFolder.find(root, home);
      if (found || root === dirname(root)) return found;
    }
  }

  get journal(): string {
    return join(this.state, 'journal');
  }

  get lock(): string {
    return join(this.state, 'lock');
  }

  get lastReport(): string {
    return join(this.state, 'last-sync.json');
  }

  /**
   * Returns the token for the folder's service; undefined when none is stored.
   * @throws SecretNeeded for credentials of another service, which an `init` that was killed half way leaves behind
   */
  async credentials(): Promise<Credentials | undefined> {
    const kept = await this.keptCredentials();
    if (kept === undefined || kept.service === this.settings.service) return kept;
    throw new SecretNeeded(
      `the sign-in that is kept for ${this.root} is for ${kept.service}: run \`cloud-sync init\` again`,
    );
  }

  /** Returns the stored token, for any service. @throws UsageError when it cannot be read */
  async keptCredentials(): Promise<KeptCredentials | undefined> {
    const place = credentialsFile(this.state);
    const text = await readText(place);
    if (text === undefined) return undefined;
    const kept = credentialsIn(text, this.settings.service);
    if (kept) return kept;
    throw new UsageError(`${place} cannot be read: run \`cloud-sync init\` again`);
  }

  /** Returns the stored master key, if any. @throws UsageError when it cannot be read */
  async masterKey(): Promise<Uint8Array | undefined> {
    const place = keyFile(this.state);
    const text = await readText(place);
    if (text === undefined) return undefined;
    const key = new Uint8Array(Buffer.from(text.trim(), 'base64'));
    if (key.length === MASTER_KEY_BYTES) return key;
    throw new UsageError(`${place} cannot be read: run \`cloud-sync init\` again`);
  }

  /** Converts a path on disk to a path in the vault. @throws UsageError when it is not below the folder */
  vaultPath(place: string): string {
    const path = relative(this.root, place);
    if (path === '' || path.split(sep)[0] === '..' || isAbsolute(path))
      throw new UsageError(`${place} is not in ${this.root}`);
    return path.split(sep).join('/').normalize('NFC');
  }

  /** Deletes the credentials and the key, including copies that a killed process left. Settings and journal stay. */
  async removeSecrets(): Promise<void> {
    const secrets = [credentialsFile(this.state), keyFile(this.state)].map((path) => basename(path));
    const isSecret = (name: string): boolean =>
      secrets.some((secret) => name === secret || name.startsWith(`${secret}.`));
    for (const name of (await readdir(this.state)).filter(isSecret))
      await rm(join(this.state, name), { force: true });
  }

  async removeState(): Promise<void> {
    await rm(this.state, { recursive: true, force: true });
  }
}

/** Directory of the state of all folders. */
export function stateHome(env: Readonly<Record<string, string | undefined>>): string {
  const given = env['XDG_STATE_HOME'];
  const base = given !== undefined && isAbsolute(given) ? given : join(homedir(), '.local', 'state');
  return join(base, 'cloud-sync');
}

/** Directory of a folder's state: its name, for users, and a hash of its full path. */
export function stateOf(root: string, home: string): string {
  const name = basename(root)
    .replaceAll(/[^\w.-]/g, '_')
    .slice(0, 40);
  return join(home, `${name}-${createHash('sha256').update(root).digest('hex').slice(0, 16)}`);
}

/** Stores the credentials and the master key; without a key, deletes the stored one. */
export async function saveSecrets(
  root: string,
  home: string,
  credentials: KeptCredentials,
  masterKey: Uint8Array | undefined,
): Promise<void> {
  const state = stateOf(root, home);
  await replacePrivate(credentialsFile(state), `${JSON.stringify(credentials)}\n`);
  if (masterKey) await writeKey(state, masterKey);
  else await rm(keyFile(state), { force: true });
}

/** Stores the master key beside the settings. */
export const writeKey = (state: string, masterKey: Uint8Array): Promise<void> =>
  replacePrivate(keyFile(state), `${Buffer.from(masterKey).toString('base64')}\n`);

export const credentialsFile = (state: string): string => join(state, 'credentials.json');
export const keyFile = (state: string): string => join(state, 'master-key');

/** Every folder that is set up; unreadable settings are skipped. */
export async function allFolders(home: string): Promise<string[]> {
  const names = await readdir(home).catch(() => []);
  const texts = await Promise.all(
    names.map((name) => readText(join(home, name, CONFIG)).catch(() => undefined)),
  );
  return texts.flatMap((text, at) => {
    if (text === undefined) return [];
    try {
      return [parseSettings(text, names[at] ?? '').folder];
    } catch {
      return [];
    }
  });
}

/** Resolves symbolic links. For a path that does not exist, resolves those of its parents. */
export async function realPlace(place: string): Promise<string> {
  const absolute = resolve(place);
  try {
    return await realpath(absolute);
  } catch (error) {
    const parent = dirname(absolute);
    const isAbsent = ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
    if (!isAbsent || parent === absolute) throw error;
    return join(await realPlace(parent), basename(absolute));
  }
}

/** @param service used when the credentials name none @returns undefined when they contain no token */
function credentialsIn(text: string, service: string): KeptCredentials | undefined {
  try {
    const kept = JSON.parse(text) as Record<string, unknown> | null;
    const { accessToken, sessionToken } = kept ?? {};
    const of = { service: typeof kept?.['service'] === 'string' ? kept['service'] : service };
    if (typeof accessToken === 'string') return { accessToken, ...of };
    return typeof sessionToken === 'string' ? { sessionToken, ...of } : undefined;
  } catch {
    return undefined;
  }
}
