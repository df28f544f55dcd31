import { describeMatrix } from '../../../kit/routes/access-matrix.js';

describeMatrix('automation');
