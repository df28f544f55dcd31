export { LinkedAccounts } from './linked-accounts.js';
export { type LinkState, ProviderLinks } from './provider-links.js';
export { ProviderSignIns } from './provider-sign-ins.js';
export { Provider } from './provider.js';
export { ProviderMetadata } from './provider-metadata.js';
export { SingleSignOn, type SingleSignOnRefusal } from './single-sign-on.js';
