import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import {
  ApiError,
  rotate,
  type RotationRecord,
  type RotationStore,
  type Vault,
  type VaultKeys,
} from '../../core/index.js';
import { replacePrivate } from '../../folder/index.js';
import type { Run } from '../command.js';
import type { Context, OpenFolder } from '../context.js';
import { ConfirmationNeeded } from '../errors.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { newPassword } from '../new-password.js';
import { readText } from '../text-file.js';
import { syncOnce } from '../sync-engine.js';
import { linesOf, type SyncDocument } from '../sync-report.js';
import { SyncedFolder, writeKey } from '../synced-folder.js';

export function registerRotate(program: Command, run: Run): void {
  program
    .command('rotate')
    .description('encrypt everything under a new key, in a new workspace, and delete the old one')
    .argument('[folder]', 'a folder that is set up; the current directory unless given')
    .action(
      run((context: Context, argument: string | undefined) =>
        // Opens the vault only when it is needed: at the end of a rotation the old workspace may be gone.
        context.withFolder(argument, async (opened) => {
          if (context.options.dryRun === true) return preview(context, opened);
          return context.withLock(opened.folder, () => rotateFolder(context, opened));
        }),
      ),
    );
}

async function preview({ output }: Context, { folder, workspace }: OpenFolder): Promise<ExitCode> {
  const { fileCount } = await workspace.log.status();
  output.result({ folder: folder.root, files: fileCount }, [
    `would encrypt ${fileCount} files with their versions, checkpoints and attachments under a new key`,
  ]);
  return EXIT.ok;
}

async function rotateFolder(context: Context, opened: OpenFolder): Promise<ExitCode> {
  const { output, prompt } = context;
  const { folder, session } = opened;
  const store = new RotationFile(join(folder.state, 'rotation.json'));
  const kept = await store.load();
  // The process was killed after the last step: the folder already has the new workspace.
  if (kept?.newId === folder.settings.workspace) await store.forget();
  const isBegun = kept !== undefined && kept.newId !== folder.settings.workspace;
  const question = 'Have all other devices synced and stopped? What they write from now on stays on them.';
  if (!isBegun && !(await prompt.confirm(question))) throw new ConfirmationNeeded('nothing was rotated');
  let unlocked: Promise<VaultKeys> | undefined;
  const unlock = (): Promise<VaultKeys> => (unlocked ??= context.keys(opened));
  const refused = isBegun && (await isGone(opened)) ? undefined : await unsynced(context, opened, unlock);
  if (refused) {
    output.result({ ...refused, workspace: null }, [...linesOf(refused), 'nothing was rotated: sync first']);
    return refused.exitCode;
  }
  const vault = await rotate({
    ...{ session, oldId: folder.settings.workspace, newPassword: await newPassword(prompt), store },
    unlockOld: unlock,
    onProgress: (doing, done, total) => output.progress(`${doing} ${done} of ${total}`),
  });
  await moveOn(context, folder, vault);
  const { workspaceId } = vault;
  output.result({ folder: folder.root, workspace: workspaceId }, [
    `${folder.root} syncs with the workspace ${workspaceId} from now on; the old one is deleted`,
    `On other devices: cloud-sync sign-out --forget FOLDER; cloud-sync init FOLDER --workspace ${workspaceId}`,
    'The vault has the new password, and no recovery key yet: `cloud-sync recovery`',
  ]);
  await store.forget();
  return EXIT.ok;
}

/** Syncs. @returns why the rotation must not begin; undefined when it may, even if some files are not on the server */
async function unsynced(
  context: Context,
  opened: OpenFolder,
  unlock: () => Promise<VaultKeys>,
): Promise<SyncDocument | undefined> {
  const { output, prompt, interruption } = context;
  const { settings } = opened.folder;
  const keys = await unlock();
  const document = await syncOnce({ ...opened, keys, settings, signal: interruption.signal });
  if (document.exitCode === EXIT.ok) return undefined;
  if (document.exitCode !== EXIT.leftOver) return document;
  for (const line of linesOf(document)) output.note(line);
  return (await prompt.confirm('Rotate although these stay as they are?')) ? undefined : document;
}

async function isGone({ workspace }: OpenFolder): Promise<boolean> {
  try {
    await workspace.log.status();
    return false;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return true;
    throw error;
  }
}

/** From here on the folder belongs to the new workspace; the next sync compares everything by content. */
async function moveOn({ stateHome }: Context, folder: SyncedFolder, vault: Vault): Promise<void> {
  const { settings } = folder;
  if (settings.keepsKey) await writeKey(folder.state, vault.exportMasterKey());
  await SyncedFolder.save({ ...settings, workspace: vault.workspaceId, hasSlots: true }, stateHome);
}

/** Stores the progress of a rotation beside the settings of the folder. */
class RotationFile implements RotationStore {
  constructor(private readonly path: string) {}

  async load(): Promise<RotationRecord | undefined> {
    const text = await readText(this.path);
    return text === undefined ? undefined : (JSON.parse(text) as RotationRecord);
  }

  async save(record: RotationRecord): Promise<void> {
    await replacePrivate(this.path, `${JSON.stringify(record)}\n`);
  }

  forget(): Promise<void> {
    return rm(this.path, { force: true });
  }
}
