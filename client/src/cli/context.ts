import { resolve } from 'node:path';
import { deriveVaultKeys, Session, Vault, type VaultKeys, Workspace } from '../core/index.js';
import { deviceId, Lock, type Progress } from '../folder/index.js';
import { SecretNeeded, UsageError } from './errors.js';
import { Interruption } from './interruption.js';
import type { Output } from './output.js';
import type { Prompt } from './prompt.js';
import { bandwidthOf, selected, type SelectionOptions } from './selection.js';
import { type KeptCredentials, realPlace, stateHome, SyncedFolder } from './synced-folder.js';

/** Options of every command. */
export interface GlobalOptions extends SelectionOptions {
  readonly json?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** A folder and the session of its account. */
export interface OpenFolder {
  readonly folder: SyncedFolder;
  readonly session: Session;
  /** Has its own device id, so that the folder's client is notified of its changes. */
  readonly workspace: Workspace;
}

/** A folder, the session of its account, and the keys of its vault. */
export interface OpenVault extends OpenFolder {
  readonly keys: VaultKeys;
  /** Opens the vault, for commands that change what opens it. Sends a request. */
  readonly vault: () => Promise<Vault>;
}

/** Everything that a command uses: output, questions, options, the environment, and the folders that it opens. */
export class Context {
  readonly interruption = new Interruption();

  constructor(
    readonly output: Output,
    readonly prompt: Prompt,
    readonly options: GlobalOptions,
    readonly env: Environment,
    readonly cwd: string,
  ) {}

  /** From now on, SIGINT and SIGTERM end the command after the current step. */
  listen(): void {
    this.interruption.listen((name) => this.output.note(`${name}: ending after the current step`));
  }

  /** Shows each step of a sync on a terminal. */
  readonly onProgress = ({ doing, path }: Progress): void => this.output.progress(`${doing} ${path}`);

  /** Directory of the state of all folders. */
  get stateHome(): string {
    return stateHome(this.env);
  }

  /** A path from the command line, without symbolic links. Defaults to the current directory. */
  place(argument = '.'): Promise<string> {
    return realPlace(resolve(this.cwd, argument));
  }

  /** @param argument a folder that is set up, or a path inside one @throws UsageError when there is none */
  async folder(argument?: string): Promise<SyncedFolder> {
    const place = await this.place(argument);
    const found = await SyncedFolder.above(place, this.stateHome);
    if (found) return found;
    throw new UsageError(`${place} is not set up: run \`cloud-sync init ${argument ?? '.'}\` first`);
  }

  /** A file from the command line, and the folder that contains it. The file need not exist. */
  async file(argument: string): Promise<{ readonly folder: SyncedFolder; readonly path: string }> {
    const place = await this.place(argument);
    const folder = await this.folder(argument);
    return { folder, path: folder.vaultPath(place) };
  }

  /** Runs `work` with a folder and its account. Sends no request. */
  async withFolder<T>(
    argument: string | SyncedFolder | undefined,
    work: (opened: OpenFolder) => Promise<T>,
  ): Promise<T> {
    const folder = argument instanceof SyncedFolder ? argument : await this.folder(argument);
    const session = await this.session(folder);
    const { workspace, device } = folder.settings;
    return work({ folder, session, workspace: new Workspace(session, workspace, deviceId(device, 'cli')) });
  }

  /** Runs `work` with a folder and its vault, opened with the stored key or the password. */
  async withVault<T>(
    argument: string | SyncedFolder | undefined,
    work: (opened: OpenVault) => Promise<T>,
  ): Promise<T> {
    return this.withFolder(argument, async (opened) => {
      const { folder, session } = opened;
      const masterKey = await this.masterKey(opened);
      const vault = (): Promise<Vault> => Vault.withMasterKey(session, folder.settings.workspace, masterKey);
      return work({ ...opened, keys: await deriveVaultKeys(masterKey), vault });
    });
  }

  /** Runs `work` under the folder's lock. @throws AlreadyRunning */
  async withLock<T>(folder: Pick<SyncedFolder, 'lock'>, work: () => Promise<T>): Promise<T> {
    const lock = await Lock.take(folder.lock);
    try {
      return await work();
    } finally {
      await lock.release().catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error; // the whole state was deleted
      });
    }
  }

  /** @throws SecretNeeded when no account is signed in */
  async session(folder: SyncedFolder): Promise<Session> {
    const { service } = folder.settings;
    const given = this.env['ACCESS_TOKEN'];
    // Stored credentials take precedence: ACCESS_TOKEN may be for another service, and must not be sent to this one.
    const credentials =
      (await folder.credentials()) ?? (given === undefined ? undefined : { accessToken: given });
    if (!credentials)
      throw new SecretNeeded(`nobody is signed in for ${folder.root}: run \`cloud-sync init\` again`);
    return this.sessionWith(folder, { ...credentials, service });
  }

  /** A session at the service that issued the credentials. */
  sessionWith(folder: SyncedFolder, credentials: KeptCredentials): Session {
    const { service } = credentials;
    const http = this.interruption.http(bandwidthOf(selected(folder.settings, this.options)));
    return 'accessToken' in credentials
      ? Session.withAccessToken(service, credentials.accessToken, http)
      : Session.resume(service, credentials.sessionToken, http);
  }

  /** The keys of a folder's vault, for a command that may not need them. */
  async keys(opened: OpenFolder): Promise<VaultKeys> {
    return deriveVaultKeys(await this.masterKey(opened));
  }

  private async masterKey({ folder, session }: OpenFolder): Promise<Uint8Array> {
    const kept = await folder.masterKey();
    if (kept) return kept;
    const { workspace, hasSlots } = folder.settings;
    const password = await this.prompt.secret('Password of the vault: ', 'VAULT_PASSWORD');
    const vault = await Vault.unlock(session, workspace, { password }, { hasSlots });
    return vault.exportMasterKey();
  }
}
