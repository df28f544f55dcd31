export { ExportDownload } from './export-download.js';
export { ExportModule } from './export.module.js';
