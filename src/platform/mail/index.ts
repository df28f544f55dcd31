export { Mail, type OutgoingMail, type Prepared, type QueuedMail } from './mail.js';
export { GIVE_UP_AFTER_MS } from './mail-queue.js';
export { MailModule } from './mail.module.js';
export { WaitingMail } from './waiting-mail.entity.js';
export { SmtpSender, type SmtpResult } from './smtp-sender.js';
export { type TemplateName, testMessage } from './templates.js';
