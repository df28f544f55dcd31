import { refusalOf } from './access.js';
import * as account from './account.js';
import * as assets from './assets.js';
import * as batches from './batches.js';
import * as checkpoints from './checkpoints.js';
import * as files from './files.js';
import * as slots from './key-slots.js';
import { type Answer, type Kind, type Moment, type Operation, refused, type Rule } from './operations.js';
import { night } from './retention.js';
import { copyOf, type State } from './state.js';
import * as sync from './sync.js';

const RULES: { readonly [K in Kind]: Rule<K> } = {
  'create workspace': account.createWorkspace,
  'list workspaces': account.listWorkspaces,
  'delete workspace': account.deleteWorkspace,
  'set up encryption': slots.setUpEncryption,
  'list slots': slots.listSlots,
  'put slot': slots.putSlot,
  'delete slot': slots.deleteSlot,
  put: files.put,
  'batch upload': batches.uploadBatch,
  'batch download': batches.downloadBatch,
  delete: files.deleteFile,
  get: files.getFile,
  'list files': files.listFiles,
  push: sync.push,
  pull: sync.pull,
  snapshot: sync.snapshot,
  status: sync.status,
  'list versions': files.listVersions,
  'get version': files.getVersion,
  restore: files.restore,
  'create checkpoint': checkpoints.createCheckpoint,
  'list checkpoints': checkpoints.listCheckpoints,
  'delete checkpoint': checkpoints.deleteCheckpoint,
  summary: checkpoints.summary,
  manifest: checkpoints.manifest,
  'note state': checkpoints.noteState,
  'create asset': assets.createAsset,
  'get asset': assets.getAsset,
  'rename asset': assets.renameAsset,
  'delete asset': assets.deleteAsset,
  'delete assets': assets.deleteAssets,
  'list assets': assets.listAssets,
  usage: assets.usage,
  mint: account.mint,
  revoke: account.revoke,
  'list tokens': account.listTokens,
  night,
  subscribe: account.subscribe,
};

/** The answer to an operation, and the state after it. The state before it is unchanged. */
export function perform(
  before: State,
  operation: Operation,
  moment: Moment,
): { state: State; answer: Answer } {
  const state = copyOf(before);
  const refusal = refusalOf(state, operation, moment);
  if (refusal !== undefined) return { state, answer: refused(refusal) };
  const rule = RULES[operation.kind] as Rule<Kind>;
  return { state, answer: rule(state, operation, moment) };
}
