export { type ListedPasskey, MAX_PASSKEYS, Passkey, Passkeys } from './passkeys.js';
export { passkeyPlugin } from './passkey-plugin.js';
