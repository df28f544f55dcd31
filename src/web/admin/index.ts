export { AdminPagesModule } from './admin-pages.module.js';
