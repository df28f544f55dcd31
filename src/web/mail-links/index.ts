export { MailPagesModule } from './mail-pages.module.js';
