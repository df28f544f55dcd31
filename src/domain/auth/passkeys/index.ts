export { Passkey } from './passkey.entity.js';
export { passkeyPlugin } from './passkey-plugin.js';
export { type ListedPasskey, MAX_PASSKEYS, Passkeys } from './passkeys.js';
