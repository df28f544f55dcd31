import { decryptContent, ENVELOPE_OVERHEAD, isUnopened, type VaultKeys } from '../crypto/index.js';
import { ApiError, collect } from '../http/index.js';
import { failureOf, inLanes, type Workspace } from '../workspace/index.js';
import type { PastFile } from './past-state.js';

/** An old content, or why it is not available. */
export type PastContent = { readonly path: string } & (
  { readonly content: Uint8Array } | { readonly problem: Error }
);

/** Contents are held in memory, so more lanes cost more memory. */
const LANES = 4;

/** The contents of old versions, in any order. An unavailable one does not stop the others. */
export async function* pastContents(
  workspace: Workspace,
  keys: VaultKeys,
  files: Iterable<PastFile>,
  mostBytes: number,
): AsyncGenerator<PastContent, void> {
  const fetch = async (file: PastFile): Promise<PastContent[]> => [
    await contentOf(workspace, keys, file, mostBytes),
  ];
  yield* inLanes(files, () => LANES, fetch);
}

async function contentOf(
  workspace: Workspace,
  keys: VaultKeys,
  { path, encryptedPath, then }: PastFile,
  mostBytes: number,
): Promise<PastContent> {
  if (then === 'absent') throw new RangeError('there was no such file');
  const lost = { path, problem: new RangeError('the server no longer has this version') };
  if (then === 'lost') return lost;
  try {
    const opened = await workspace.files.open(encryptedPath, then === 'now' ? undefined : then.versionId);
    if (opened.encryptedSize - ENVELOPE_OVERHEAD > mostBytes) {
      opened.cancel();
      return { path, problem: new RangeError('larger than the limit: raise the limit') };
    }
    return { path, content: await decryptContent(keys, encryptedPath, await collect(opened.chunks)) };
  } catch (error) {
    if (isUnopened(error)) return { path, problem: error };
    if (error instanceof ApiError && error.status === 404) {
      await workspace.log.status(); // throws when the workspace itself is gone
      return lost;
    }
    const { error: problem } = await failureOf(error, () => workspace.log.status());
    return { path, problem };
  }
}
