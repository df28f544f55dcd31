import { describeMatrix } from '../../../kit/routes/access-matrix.js';

describeMatrix('assets and devices');
