import { type Answer, answered, OK, refused, type Rule } from './operations.js';
import { type Asset, type State, type Workspace, workspaceIn } from './state.js';
import { sizeOf } from './words.js';

/** Quotas of the plans in the service under test. */
export const QUOTA = { pro: 700, free: 300 };

const SMALLEST = 61;
const KEYS_LAST = 24 * 60 * 60_000;

export const createAsset: Rule<'create asset'> = (
  state,
  { workspace: name, token, envelope, key },
  { now },
) => {
  const workspace = workspaceIn(state, name);
  if (sizeOf(envelope) < SMALLEST) return refused(400);
  const used = workspace.usedKeys.findLast((one) => one.key === key && one.usedAt > now - KEYS_LAST);
  if (used) return used.token === token ? answered(token, 201) : refused(409);
  if (assetAt(workspace, token)) return refused(409);

  const [usedBytes, requestedBytes] = [usedIn(state), sizeOf(envelope)];
  const { quotaBytes } = quotaIn(state);
  const details = { usedBytes, quotaBytes, requestedBytes, locked: false };
  if (usedBytes + requestedBytes > quotaBytes)
    return refused(507, { code: 'STORAGE_QUOTA_EXCEEDED', details });

  workspace.assets.push({ token, envelope, uploadedAt: now });
  if (key !== null) workspace.usedKeys.push({ key, token, usedAt: now });
  return answered(token, 201);
};

export const getAsset: Rule<'get asset'> = (state, { workspace, token }) => {
  const asset = assetAt(workspaceIn(state, workspace), token);
  return asset ? answered({ envelope: asset.envelope, size: sizeOf(asset.envelope) }) : refused(404);
};

/** Changes the name alone; a rename to the same name changes nothing. */
export const renameAsset: Rule<'rename asset'> = (state, { workspace: name, token, to }) => {
  const workspace = workspaceIn(state, name);
  const asset = assetAt(workspace, token);
  if (!asset) return refused(404);
  if (to !== token && assetAt(workspace, to)) return refused(409);
  asset.token = to;
  return OK;
};

export const deleteAsset: Rule<'delete asset'> = (state, { workspace, token }) => {
  remove(workspaceIn(state, workspace), token);
  return OK;
};

/** The whole request is valid, or nothing is changed. */
export const deleteAssets: Rule<'delete assets'> = (state, { workspace: name, tokens }) => {
  const workspace = workspaceIn(state, name);
  if (new Set(tokens).size < tokens.length || !tokens.every((token) => /^[\w-]+$/.test(token)))
    return refused(400);
  return answered({ results: tokens.map((token) => ({ token, deleted: remove(workspace, token) })) });
};

/** Newest first. */
export const listAssets: Rule<'list assets'> = (state, { workspace }) =>
  answered(
    workspaceIn(state, workspace)
      .assets.toReversed()
      .map(({ token, envelope, uploadedAt }) => ({
        encryptedFilename: token,
        sizeBytes: sizeOf(envelope),
        uploadedAt,
      })),
  );

/** The usage of the whole account. */
export const usage: Rule<'usage'> = (state): Answer =>
  answered({ usedBytes: usedIn(state), ...quotaIn(state), addonBytes: 0, locked: false });

const usedIn = ({ workspaces }: State): number =>
  workspaces.flatMap(({ assets }) => assets).reduce((sum, { envelope }) => sum + sizeOf(envelope), 0);

function quotaIn({ isSubscribed }: State): { quotaBytes: number; plan: 'pro' | 'free' } {
  const plan = isSubscribed ? 'pro' : 'free';
  return { quotaBytes: QUOTA[plan], plan };
}

const assetAt = ({ assets }: Workspace, token: string): Asset | undefined =>
  assets.find((asset) => asset.token === token);

function remove({ assets }: Workspace, token: string): boolean {
  const index = assets.findIndex((asset) => asset.token === token);
  if (index >= 0) assets.splice(index, 1);
  return index >= 0;
}
