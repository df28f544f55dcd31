export { LinkedAccounts, type LinkState, ProviderLinks, ProviderSignIns } from './linked-accounts.js';
export { Provider, ProviderMetadata } from './provider.js';
export { SingleSignOn, type SingleSignOnRefusal } from './single-sign-on.js';
