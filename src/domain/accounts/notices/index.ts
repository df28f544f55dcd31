export { MailNotice } from './mail-notice.entity.js';
export { ALL_MUTABLE, MUTABLE_NOTICES, type MutableNotice, MutedNotices } from './muted-notices.js';
export { NoticesModule } from './notices.module.js';
export { UNSUBSCRIBE, type Unsubscription, UnsubscribeLinks } from './unsubscribe-links.js';
