import { page } from '../parts/page.js';
import { empty } from '../parts/states.js';
export default function Board() { return () => page({ title: 'Board' }, empty({ title: 'x' })); }
