export { Mail, type OutgoingMail, type Prepared, type QueuedMail } from './mail.js';
export { MailModule } from './mail.module.js';
export { SmtpSender, type SmtpResult } from './smtp-sender.js';
export { type TemplateName, testMessage } from './templates.js';
